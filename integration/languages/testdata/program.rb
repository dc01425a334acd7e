require "active_record"

engine, host, user, name, code = ARGV
at = engine == "postgres" ? {adapter: "postgresql", host: host} : {adapter: "mysql2", socket: host}
ActiveRecord::Base.establish_connection(username: user, database: name, **at).connection
top = nil
ActiveRecord::Base.cache do # as in a controller
  [1, 1, 99].each do |id|
    found = nil
    eval File.read(code)
    puts found
  end
end
top.each { |post| puts "#{post.id} #{post.title} #{post.views}" }
